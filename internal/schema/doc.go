// Package schema checks whether a JSON value fits the plainest keywords of a JSON schema: type, enum, const, required,
// properties, additionalProperties and items. All other keywords count as satisfied. So a value
// that it refuses is wrong, and a value that it accepts may still be wrong.
//
// It knows JSON values. It does not know what they are for.
package schema
