// Package service runs the program that ships with a store of responses, before a simulated server, and reads what its
// clients get: objects, streams and connections, each by OpenAI's schemas.
//
// It knows the API as clients do. It does not know what is tested with it.
package service
