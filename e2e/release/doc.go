// Package release has the tests of a whole release: make test-release makes it twice, and installs it where there is
// nothing but Python, nothing but Go, or nothing.
//
// They know what make release writes and what users do with it. They do not know how it is made.
package release
