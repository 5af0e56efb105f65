package classad

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

// versionInRange(version, least, most) includes both ends. It is an ERROR, not
// UNDEFINED, when the version is UNDEFINED.
func versionInRange(ev *evaluator, vs []Value) Value {
	if v, bad := undefinedFirst(vs[1:]...); bad {
		return v
	}
	if vs[0].kind == Undefined || vs[0].kind == Error {
		return ErrorValue()
	}
	s := ev.text(vs[0])
	return BoolValue(compareVersions(s, ev.text(vs[1])) >= 0 && compareVersions(s, ev.text(vs[2])) <= 0)
}

// compareVersions orders texts by their bytes, but runs of digits by value, as
// strverscmp(3) does. Where a difference touches a run of digits in both
// texts, more leading zeros come first, then fewer digits, then the bytes.
func compareVersions(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	start := i // of the runs around the difference
	for start > 0 && isDigit(a[start-1]) {
		start--
	}
	x, y := byteOr0(a, i), byteOr0(b, i)
	difference := int(int8(x)) - int(int8(y))
	if start == i && (!isDigit(x) || !isDigit(y)) {
		return difference
	}
	a, b = a[start:], b[start:]
	if n, m := leadingZeros(a), leadingZeros(b); n != m || n > 0 {
		if n != m {
			return m - n
		}
		return difference
	}
	if n, m := digitsFrom(a), digitsFrom(b); n != m {
		return n - m
	}
	return difference
}

// leadingZeros counts the zeros s starts with; the last digit of a run is
// none.
func leadingZeros(s string) int {
	n := 0
	for n < len(s) && s[n] == '0' {
		n++
	}
	if n > 0 && !isDigit(byteOr0(s, n)) {
		n--
	}
	return n
}

func byteOr0(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

func digitsFrom(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}
