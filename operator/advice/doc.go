// Package advice finds what an operator's file may say and better did not: each with the setting and what to write.
//
// It knows the file only. It must not know what runs by it.
package advice
