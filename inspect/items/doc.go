// Package items prints responses of the Responses API as transcripts for people: each item of their input and output,
// with its texts, calls and results.
//
// It knows the items of the API. It does not know where they are stored or who may read them.
package items
