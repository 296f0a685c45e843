// Package vocabulary holds the lookup table in a built module. Package main of every module that tools/build-filter.sh
// builds imports it.
//
// It knows where the table lies. It does not know its content.
package vocabulary
