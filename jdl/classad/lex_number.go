package classad

import (
	"math"
	"strconv"
)

// number reads an integer or a real with its sign and its suffix.
func (l *lexer) number() {
	i := l.at
	if l.src[i] == '-' {
		i++
	}
	l.tok, l.unit = tokNumber, 0
	if l.src[i] == '0' && l.byteAt(i+1)|0x20 == 'x' {
		l.hex(i + 2)
	} else if end, real, ok := l.decimal(i); !ok {
		return
	} else if real {
		f, _ := strconv.ParseFloat(l.src[l.at:end], 64) // out of range is ±Inf
		l.num, l.at = RealValue(f), end
	} else {
		l.integer(i, end)
	}
	l.suffix()
}

// decimal finds the end of a decimal number whose digits start at i.
func (l *lexer) decimal(i int) (end int, real, ok bool) {
	end = l.digits(i)
	if l.byteAt(end) == '.' {
		if real = true; l.tolerant && !isLetter(l.byteAt(end+1)) && !l.digitAt(end+1) && l.byteAt(end+1) != '.' {
			l.warning(l.pos, "number", "no digit after the decimal point", "write "+l.src[l.at:end]+".0")
			return end + 1, true, true
		}
		if !l.digitAt(end + 1) {
			return l.badNumber(end+1, "no digit after the decimal point")
		}
		end = l.digits(end + 1)
	}
	if l.byteAt(end)|0x20 != 'e' {
		return end, real, true
	}
	end++
	if c := l.byteAt(end); c == '+' || c == '-' {
		end++
	}
	if !l.digitAt(end) {
		return l.badNumber(end, "no digit in the exponent")
	}
	return l.digits(end), true, true
}

func (l *lexer) digits(i int) int {
	for l.digitAt(i) {
		i++
	}
	return i
}

func (l *lexer) badNumber(at int, msg string) (int, bool, bool) {
	l.at = at
	l.fail(l.here(), msg, "")
	return at, false, false
}

// integer takes the digits from i to end. A leading zero is no octal mark:
// 010 is ten.
func (l *lexer) integer(i, end int) {
	text := l.src[l.at:end]
	if l.src[i] == '0' && end > i+1 {
		for _, c := range []byte(l.src[i:end]) {
			if c > '7' {
				l.fail(l.pos, "number "+text+" starts with 0 but is not octal", "drop the leading zeros")
				return
			}
		}
		l.warning(l.pos, "octal", "number "+text+" starts with 0 and is read as decimal", "drop the leading zeros")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		l.fail(l.pos, "number "+text+" does not fit in 64 bits", "")
		return
	}
	l.num, l.at = IntValue(n), end
}

// hex takes hexadecimal digits from i on.
func (l *lexer) hex(i int) {
	end := i
	for end < len(l.src) && isHex(l.src[end]) {
		end++
	}
	n, err := strconv.ParseInt(l.src[i:end], 16, 64)
	if err != nil {
		l.fail(l.pos, "bad hexadecimal number "+l.src[l.at:end], "")
		return
	}
	if l.src[l.at] == '-' {
		n = -n
	}
	l.num, l.at = IntValue(n), end
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// suffix takes one of B K M G T, powers of 1024. The value becomes a real.
func (l *lexer) suffix() {
	if l.err != nil {
		return
	}
	scale, ok := unitScale(l.byteAt(l.at))
	if !ok {
		return
	}
	f, _ := l.num.Number()
	l.real = l.num.kind == Real
	l.num, l.unit = RealValue(f*scale), l.src[l.at]
	l.at++
}

// unitScale is the factor of a number suffix.
func unitScale(c byte) (scale float64, ok bool) {
	switch c | 0x20 {
	case 'b':
		return 1, true
	case 'k':
		return 1 << 10, true
	case 'm':
		return 1 << 20, true
	case 'g':
		return 1 << 30, true
	case 't':
		return 1 << 40, true
	}
	return math.NaN(), false
}
