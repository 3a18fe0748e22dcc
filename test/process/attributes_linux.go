package process

import "syscall"

// attributes has the process run as that user, and die with the tests.
func attributes(user uint32) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if user != 0 {
		a.Credential = &syscall.Credential{Uid: user, Gid: user}
	}
	return a
}
