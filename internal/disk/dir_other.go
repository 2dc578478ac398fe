//go:build !unix && !windows

package disk

import (
	"errors"
	"fmt"
	"runtime"
)

func syncDir(dir string) error {
	return fmt.Errorf("disk: sync the names in %s: %w on %s", dir, errors.ErrUnsupported, runtime.GOOS)
}
