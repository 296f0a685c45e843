// Package lab has what several rooms of e2e need: gateways in each host, simulated servers, the program that ships, and
// clients that read answers.
//
// It knows how a test sends and receives. It does not know what any test expects, nor the cases of the suite.
package lab
