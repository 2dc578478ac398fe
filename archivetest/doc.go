// Package archivetest holds every ax.Archive to its contract. A backend's test is a constructor and one call:
//
//	func TestArchive(t *testing.T) {
//		archivetest.Run(t, func(t *testing.T) archivetest.Harness {
//			return archivetest.Harness{Archive: memory.NewArchive(100_000)}
//		})
//	}
//
// # Model
//
// A Case is a sentence of the contract with what would show that an archive breaks it, on an empty archive of its own. A
// case that fails prints its sentence and what was found in place of what. Queries are compared with a plain second
// implementation over all that was appended.
//
// # Guaranteed
//
// Each sentence is checked by at least one case, and the package's own tests break a good archive in many ways, each of
// which some case must notice.
//
// # Not guaranteed
//
// Durability: Reopen is an orderly close and open. Speed. The cases append some 2,000 tasks: a bounded archive must hold
// as many.
package archivetest
