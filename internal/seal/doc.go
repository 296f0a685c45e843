// Package seal encrypts texts that a client carries from one request to the next, and that it can neither read nor change
// nor use elsewhere. It knows neither what the texts are nor where keys come from.
package seal
