// Package tap is the format in which the filter hands over what it sees of a tapped request: a sequence of frames.
//
// It does not know when a request is tapped, how frames are sent, or what they mean.
package tap
