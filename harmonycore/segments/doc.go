// Package segments divides a prompt into its parts, such as the date, the tools or a past call, and says what of a
// prompt differs first from an earlier one, and what of it a server's cache has. Of the earlier prompt it keeps hashes
// and kinds, and no text.
//
// It knows Harmony's token ids. It does not know requests, and not which server has which prompt.
package segments
