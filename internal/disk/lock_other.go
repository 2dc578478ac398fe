//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// lock refuses: without a lock that ends with its process, two of them could write to one directory.
func lock(path string) (*os.File, error) {
	return nil, fmt.Errorf("disk: lock %s: %w on %s", path, errors.ErrUnsupported, runtime.GOOS)
}
