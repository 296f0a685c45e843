// Package page tests the page of a gateway in a real browser, Chromium: what it shows, what it sends, and how it is
// used by keyboard. It also takes the pictures of docs/page.
//
// It knows the page's texts and controls, and nothing of how the page is written.
package page
