// Package memlog is a log in memory, for tests of what programs log. It does not know what is logged.
package memlog
