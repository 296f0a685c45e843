// Package books has the tests of limits by tokens as operators run them: Envoys, replicas of the rate limit service,
// and the Redis that the replicas share. Reserved, used and returned tokens must be equal to the token.
//
// It knows what clients, servers, access logs and the service's books say. It does not know how a ledger counts.
package books
