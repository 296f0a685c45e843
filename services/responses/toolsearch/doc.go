// Package toolsearch ranks short texts by the words of a question, by BM25.
//
// It knows words. It does not know what a tool is, or who asks.
package toolsearch
