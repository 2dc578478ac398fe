// Package registrytest holds every ax.Registry to its contract. A backend's test is a constructor and one call:
//
//	func TestRegistry(t *testing.T) {
//		registrytest.Run(t, func(t *testing.T) registrytest.Harness {
//			clock := …
//			b := memory.New(memory.Config{Now: clock.Now})
//			return registrytest.Harness{Registry: b, Advance: clock.Advance}
//		})
//	}
//
// # Model
//
// A Case is a sentence of the contract with what would show that a registry breaks it, on an empty registry of its own.
// A case that fails prints its sentence and what was found in place of what. Nothing sleeps: leases run out because the
// harness moves the registry's clock, and a wait ends when the thing waited for happens, or after a minute as a failure.
//
// # Guaranteed
//
// Each sentence is checked by at least one case, and the package's own tests break a good registry in many ways, each of
// which some case must notice.
//
// # Not guaranteed
//
// Durability: Reopen is an orderly close and open. A registry whose clock cannot be moved (Advance nil) is not checked
// for what happens when a lease runs out.
package registrytest
