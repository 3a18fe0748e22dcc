//go:build !unix || solaris || aix

package bolt

import "os"

// lock does nothing: bbolt locks the file itself when it opens it.
func lock(*os.File) (inUse bool, err error) { return false, nil }

func unlock(*os.File) {}
