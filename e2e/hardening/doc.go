// Package hardening has the tests of the pages about production: authentication in front of the gateway, and every
// command of docs/hardening.md and docs/runbook.md. They know the pages and the program, not how the filter works.
package hardening
