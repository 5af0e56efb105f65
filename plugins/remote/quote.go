package remote

import "strings"

// quote makes one word of a POSIX shell of any text without NUL bytes. Within
// single quotes nothing is special but the single quote itself (POSIX.1-2017,
// XCU 2.2.2); it is written as '\”.
func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// CommandLine joins words as they are typed to a login shell, which may be a csh: plain
// words stay bare.
func CommandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = w
		if !Plain(w) {
			words[i] = quote(w)
		}
	}
	return strings.Join(words, " ")
}

// Plain reports whether no shell sees anything special in the word.
func Plain(w string) bool {
	for _, c := range []byte(w) {
		if !alnum(c) && !strings.ContainsRune("_-./:,=+@", rune(c)) {
			return false
		}
	}
	return w != ""
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// ValidID reports whether our id can name a directory and a Slurm job. It is
// the same rule as id_ok in runner.sh.
func ValidID(id string) bool {
	for _, c := range []byte(id) {
		if !alnum(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && id[0] != '.' && id[0] != '-' && len(id) <= 128
}

// identifier reports whether name can be a variable of the shell.
func identifier(name string) bool {
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
