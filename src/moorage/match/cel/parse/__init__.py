"""Expression text to syntax tree: lexer, parser, macros."""
