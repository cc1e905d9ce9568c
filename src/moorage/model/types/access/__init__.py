"""Views of identities and rights: tokens, certificates, roles and their bindings, access reviews."""
