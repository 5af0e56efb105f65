package environment

import "golang.org/x/sys/unix"

// auditArch is this architecture's name in seccomp data.
const auditArch = unix.AUDIT_ARCH_X86_64
