//go:build cgo

package environment

// allThreads tells whether a system call can be made on all threads of this program (syscall.AllThreadsSyscall).
const allThreads = false
