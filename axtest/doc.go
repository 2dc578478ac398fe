// Package axtest helps to test code that uses ax: a scheduler with handlers, inside of a testing/synctest bubble, where a
// delay of a day takes no time and nothing is left to chance.
//
//	func TestUnpaidOrderIsClosed(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			shop := newShop()                                                     // your code
//			s := axtest.Start(t, sched.Config{Mux: shop.Mux()})                   // stops when the test ends
//			shop.PlaceOrder(s, 123)                                               // submits "close-order" in 15 minutes
//			axtest.RequireSubmitted(t, s, "close-order", 1)
//			axtest.Wait(15*time.Minute - 1)
//			axtest.RequireState(t, s, "order-123/close", ax.Scheduled)            // not yet
//			axtest.Wait(1)
//			axtest.RequireState(t, s, "order-123/close", ax.Success)
//		})
//	}
//
// # Model
//
// A bubble has a clock of its own, which stands still while any goroutine can run and then jumps to the next timer. Wait
// lets time pass and everything settle; what follows it sees a quiet scheduler. Handlers that wait on channels, contexts
// or package time are fine; a handler that waits for the network stops the bubble's clock, so give it a fake.
//
// A Clock adds what a bubble cannot do: a wall clock that is stepped, and a machine that is suspended.
//
// Work needs no bubble: it runs one attempt of one task through its handler and returns the task, for tests of handlers.
//
// # Guaranteed
//
// The scheduler is the real one, with the memory store unless the Config says otherwise. In a bubble nothing is late: what
// is due starts at that very instant if a worker is free.
//
// # Not guaranteed
//
// The order of things that happen at the same instant: package synctest mixes it on purpose.
//
// # How it fails
//
// A bubble whose goroutines all wait for something outside of it hangs until the test's timeout. A handler that never
// returns fails the test: its goroutine is left when the bubble ends.
package axtest
