// Package affinity hashes the beginnings of prompts, so that prompts that begin alike can go to the same server. Blocks
// of token ids are hashed in a chain, as the caches of inference servers do.
//
// It knows ids and text. It does not know servers, and not what is done with a hash.
package affinity
