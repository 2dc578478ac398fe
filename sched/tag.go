package sched

import (
	"math/rand/v2"
	"sync"
)

// processTag stands in for the tag of a boot where the boot cannot be named: boot times hold within this process only.
var processTag = sync.OnceValue(func() uint32 { return max(rand.Uint32(), 1) })
