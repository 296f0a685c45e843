// Package store keeps responses, their items and conversations in SQLite or PostgreSQL, encrypted if it has keys.
//
// It knows who owns a record, how records are chained, and how long they are kept. It does not know HTTP, the fields of
// the API's objects, or models.
package store
