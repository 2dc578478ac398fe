// Package invariant holds the laws of ax as sentences, and a Book that finds out when one is broken.
//
// A Book is a model of its own: it is told what was written, answered, started, ended and filed, in types of its own, and
// asks nobody's opinion. It shares no code with what it judges, which is why it imports nothing of ax.
//
//	Opened, Wrote, Stored, Inboxed   what the store did, seen from outside of it
//	Asked, Answered                  what callers were told
//	Turn                             what a node could have claimed, and what it did claim
//	Began, Ended                     what handlers did
//	Filed                            what the archive has
//
// Guaranteed: the first violation is kept, with its law and what broke it; the same calls give the same violation. Not
// guaranteed: that a scheduler which breaks no law here makes progress; whoever drives it has to wait for that, and call
// Stuck.
//
// How it fails: it does not panic. After the first violation it goes on, and what it says then is not kept.
package invariant
