"""What must hold of a CustomResourceDefinition: names, versions, schemas, rules, conversion."""
