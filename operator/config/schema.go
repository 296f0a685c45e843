package config

import _ "embed" // the schema's file

// Schema is the JSON Schema (2020-12) of the file that [Parse] reads. It is for editors. make config-schema makes it
// from the types here and from their comments. It knows words and kinds; [Config.Validate] checks how settings depend
// on each other.
//
//go:embed schema.json
var Schema []byte
