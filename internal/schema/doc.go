// Package schema tells whether a JSON value fits a JSON schema, as far as the schema says so in its plainest words: type,
// enum, const, required, properties, additionalProperties and items. Everything else counts as met, so what it refuses is
// wrong, and what it lets through may still be.
//
// It knows JSON values, not what they are for.
package schema
