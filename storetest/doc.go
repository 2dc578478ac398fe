// Package storetest holds every ax.Store to its contract. A backend's test is a constructor and one call:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			b := memory.New(memory.Config{Partitions: 3})
//			return storetest.Harness{Store: b, Registry: b, Partitions: 3}
//		})
//	}
//
// # Model
//
// A Case is a sentence of the contract with what would show that a store breaks it. It works on a Harness of its own,
// that is on an empty store, plays the owners of partitions itself, and looks at the store only through ax.Store. A case
// that fails prints its sentence and what was found in place of what. Nothing sleeps; a wait ends when the thing waited
// for happens, or after a minute as a failure.
//
// # Guaranteed
//
// Each sentence is checked by at least one case, and the package's own tests break a good store in some 100 ways, each of
// which some case must notice: a suite that cannot fail proves nothing.
//
// # Not guaranteed
//
// Durability: Reopen is an orderly close and open. What power loss or a killed process leaves is for the backend's own
// tests, which know how to bring it about. Speed.
//
// # Faults
//
// Faulty wraps any store and fails as a plan says, the same way at every run: to test those who use stores.
package storetest
