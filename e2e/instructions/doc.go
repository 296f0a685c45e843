// Package instructions counts what the shipped filter executes: a figure without noise, for each part of an exchange.
//
// It knows requests, simulated servers and the committed counts. It does not know how the filter works.
package instructions
