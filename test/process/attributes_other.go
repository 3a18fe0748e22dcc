//go:build !linux

package process

import "syscall"

// attributes of the system's own choice: the tests that need a user run on Linux.
func attributes(uint32) *syscall.SysProcAttr { return nil }
