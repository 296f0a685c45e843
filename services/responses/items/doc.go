// Package items knows the items of a conversation: what the store has of them, what a model is asked with, and what a
// client is shown.
//
// It knows the form of items and what seals them. It does not know requests, tools' servers, or who keeps what.
package items
