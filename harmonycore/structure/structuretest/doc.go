// Package structuretest tests adapters of package structure, also adapters of other modules.
//
// It knows what every adapter must keep to. It does not know any form of text.
package structuretest
