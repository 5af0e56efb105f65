package jdl

// versionFunctions compare version strings: runs of digits by their number.
var versionFunctions = []function{
	{name: "versioncmp", min: 2, max: 2, strict: versionTest(func(c int) Value { return IntValue(int64(c)) })},
	{name: "versionGT", min: 2, max: 2, strict: versionTest(func(c int) Value { return BoolValue(c > 0) })},
	{name: "versionGE", min: 2, max: 2, strict: versionTest(func(c int) Value { return BoolValue(c >= 0) })},
	{name: "versionLT", min: 2, max: 2, strict: versionTest(func(c int) Value { return BoolValue(c < 0) })},
	{name: "versionLE", min: 2, max: 2, strict: versionTest(func(c int) Value { return BoolValue(c <= 0) })},
	{name: "versionEQ", min: 2, max: 2, strict: versionTest(func(c int) Value { return BoolValue(c == 0) })},
	{name: "version_in_range", min: 3, max: 3, strict: versionInRange},
}

func versionTest(answer func(c int) Value) strictFunc {
	return func(ev *evaluator, vs []Value) Value {
		if v, bad := undefinedFirst(vs...); bad {
			return v
		}
		return answer(compareVersions(ev.text(vs[0]), ev.text(vs[1])))
	}
}

// versionInRange(version, least, most) includes both ends.
func versionInRange(ev *evaluator, vs []Value) Value {
	if v, bad := undefinedFirst(vs...); bad {
		return v
	}
	s := ev.text(vs[0])
	return BoolValue(compareVersions(s, ev.text(vs[1])) >= 0 && compareVersions(s, ev.text(vs[2])) <= 0)
}

// compareVersions orders as strverscmp(3) does: at the first difference, if
// both texts have a run of digits around it, numbers without leading zeros
// compare by value and numbers with leading zeros as fractions; otherwise the
// bytes decide.
func compareVersions(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) && i == len(b) {
		return 0
	}
	start := i
	for start > 0 && isDigit(a[start-1]) {
		start--
	}
	x, y := byteOr0(a, i), byteOr0(b, i)
	if fraction(a, start, i) || fraction(b, start, i) {
		return compareFractions(a, b, start, i, x, y)
	}
	if !isDigit(x) && !isDigit(y) || i == start && (!isDigit(x) || !isDigit(y) || x == '0' || y == '0') {
		return int(x) - int(y)
	}
	if na, nb := digitsFrom(a, i), digitsFrom(b, i); na != nb {
		return cmpInt(na, nb)
	}
	return int(x) - int(y)
}

// fraction reports whether the digit run that starts at start begins with a
// zero that is followed by another digit.
func fraction(s string, start, i int) bool {
	return byteOr0(s, start) == '0' && isDigit(byteOr0(s, start+1)) && start <= i
}

// compareFractions orders digit runs of which one has a leading zero. The
// longer run of leading zeros is the smaller number.
func compareFractions(a, b string, start, i int, x, y byte) int {
	zeros := true
	for _, c := range []byte(a[start:i]) {
		zeros = zeros && c == '0'
	}
	if zeros && i > start {
		switch {
		case isDigit(x) && !isDigit(y):
			return -1
		case !isDigit(x) && isDigit(y):
			return 1
		}
	}
	return int(x) - int(y)
}

func byteOr0(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

func digitsFrom(s string, i int) int {
	n := 0
	for i+n < len(s) && isDigit(s[i+n]) {
		n++
	}
	return n
}

func cmpInt(a, b int) int {
	if a < b {
		return -1
	}
	return 1
}
