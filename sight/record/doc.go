// Package record makes records of the frames that the filter sends of tapped requests: what the client asked, the
// prompt, each token and repair with its time, and what the client got. It keeps the last ones in memory, writes each
// to a file, and passes them on as they grow.
//
// It does not know why a request is tapped or what is shown of it. Package line has the lines of a record.
package record
