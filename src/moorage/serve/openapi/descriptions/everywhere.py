"""Texts about what every object has, and about fields that mean the same wherever they are.

In: nothing. Out: tables that `descriptions` reads.
"""

from typing import Final

TYPES: Final[dict[str, str]] = {
    "Binding": "Puts a pod on a node.",
    "Condition": "One aspect of an object's state, and since when it holds.",
    "DeleteOptions": "How an object is to be deleted.",
    "ListMeta": "What is true of a list as a whole.",
    "ManagedFieldsEntry": "Which fields a writer owns.",
    "ObjectMeta": "What every object has: its name, labels and owners.",
    "ObjectReference": "Points to an object.",
    "OwnerReference": "Points to an object that this one belongs to, and is deleted with.",
    "SelfSubjectAccessReview": "Asks whether one may do something.",
    "SelfSubjectReview": "Asks who one is.",
    "SelfSubjectRulesReview": "Asks what one may do in a namespace.",
    "UserInfo": "Who somebody is.",
}

FIELDS: Final[dict[str, dict[str, str]]] = {
    "ObjectMeta": {
        "annotations": "Notes of programs and people, by name.",
        "creationTimestamp": "When the object was created. Set by the server.",
        "deletionGracePeriodSeconds": "How long the object has until it is removed.",
        "deletionTimestamp": "When the object is to be gone. Set by the server once it is being deleted.",
        "finalizers": "Who must still agree before the object is removed.",
        "generateName": "What a name that the server makes up starts with.",
        "generation": "Grows with every change of what is wanted.",
        "labels": "Labels, which selectors look at.",
        "managedFields": "Which fields each writer owns, for server-side apply.",
        "name": "The name, of which there is one at a time for each kind and namespace.",
        "namespace": "The namespace that the object lives in.",
        "ownerReferences": "The objects that this one belongs to. It is deleted when all of them are.",
        "resourceVersion": "The revision of this version of the object, for watches and for changes without surprises.",
        "selfLink": "No longer set.",
        "uid": "Identifies this object among all that ever were.",
    },
    "OwnerReference": {
        "blockOwnerDeletion": "Whether a foreground deletion of the owner waits for this object.",
        "controller": "Whether the owner is the one that controls this object.",
    },
    "Binding": {"target": "The node that the pod is put on."},
    "NonResourceAttributes": {"path": "The path of the request.", "verb": "The method, in small letters."},
    "SelfSubjectAccessReviewSpec": {
        "nonResourceAttributes": "What is to be done to a path that is no resource's.",
        "resourceAttributes": "What is to be done to a resource.",
    },
    "SelfSubjectRulesReviewSpec": {"namespace": "The namespace that is meant."},
    "SubjectAccessReviewStatus": {"allowed": "Whether it may be done."},
    "SubjectRulesReviewStatus": {
        "incomplete": "Whether there may be more rules than are listed.",
        "nonResourceRules": "What may be done to which paths that are no resource's.",
        "resourceRules": "What may be done to which resources.",
    },
    "UserInfo": {"groups": "The groups one belongs to.", "username": "The name one is known by."},
    "DeleteOptions": {
        "dryRun": "All: do everything but delete.",
        "gracePeriodSeconds": "How long the object has to end; 0 is at once.",
        "preconditions": "What must be true of the object for it to be deleted.",
        "propagationPolicy": "What becomes of dependents: Orphan, Background or Foreground.",
    },
}

#: Used for any type that has such a field and nothing better to say about it.
COMMON: Final[dict[str, str]] = {
    "apiVersion": "The group and version of the schema that the document follows.",
    "conditions": "Aspects of the state, each with the time since when it holds.",
    "kind": "What the document is: the name of its kind.",
    "lastTransitionTime": "Since when the state has been as it is.",
    "message": "Why it is so, for people.",
    "metadata": "Name, labels and all else that every object has.",
    "observedGeneration": "The generation of the object that this is about.",
    "reason": "Why it is so, for programs.",
    "spec": "What is wanted.",
    "status": "What is observed. Set by the system.",
}
