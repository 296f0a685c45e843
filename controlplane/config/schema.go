package config

import _ "embed" // the schema's file

// Schema is the JSON Schema (2020-12) of the file that Parse reads, for editors: made of the types here and of their comments by
// make config-schema. It knows words and kinds; what settings mean to each other is Validate's.
//
//go:embed schema.json
var Schema []byte
