package environment

import (
	"fmt"
	"strings"
)

// MaxTagLength is the longest tag in bytes. GLUE sets no bound; A-REX and Slurm use tags as file and feature names.
const MaxTagLength = 128

// CachedSuffix marks the soft tag that says an environment is cached at a site already: VEE-Debian11.cached. It ranks
// sites and is never required.
const CachedSuffix = ".cached"

// CheckTag tells whether name can be a tag in every system that carries it: GLUE 1.3 and 2.0, an ARC runtime
// environment, a Slurm feature. Letters, digits, '-', '.', '_' are allowed everywhere; '/' and '+' only in ARC's and
// VO's names (ENV/SINGULARITY, VO-x-c++). It starts with a letter, and no part of it is empty, "." or "..".
func CheckTag(name string) error {
	switch {
	case name == "":
		return &TagError{name, "is empty"}
	case len(name) > MaxTagLength:
		return &TagError{name[:16] + "...", fmt.Sprintf("is longer than %d bytes", MaxTagLength)}
	case !letter(name[0]):
		return &TagError{name, "does not begin with a letter"}
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune("-._/+", rune(c)) {
			return &TagError{name, fmt.Sprintf("has %q: letters, digits and - . _ / + are allowed", c)}
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' {
			return &TagError{name, "has a part that is empty or begins with a dot"}
		}
	}
	return nil
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// TagError is a tag that cannot be published or asked for.
type TagError struct{ Tag, Why string }

func (e *TagError) Error() string { return fmt.Sprintf("tag %q %s", e.Tag, e.Why) }

// SameTag compares two tags as LDAP and ClassAds do, without regard to case. A-REX and Slurm do regard it: a site that
// publishes two tags which differ in case alone is refused by the definitions' reader.
func SameTag(a, b string) bool { return strings.EqualFold(a, b) }

// virtual begins the tags of environments that are always entered.
const virtual = "VEE-"

// IsVirtual tells whether a tag is that of a virtual execution environment (VEE-Debian11): a job that asks for it runs
// inside or not at all. Other tags also stand for software that is simply there.
func IsVirtual(tag string) bool {
	return len(tag) > len(virtual) && strings.EqualFold(tag[:len(virtual)], virtual)
}
