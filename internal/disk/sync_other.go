//go:build !linux

package disk

import "os"

// syncData is what the system has; on darwin Go asks the drive to empty its cache.
func syncData(f *os.File) error { return f.Sync() }
