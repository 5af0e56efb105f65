package classad

import (
	"math"
	"math/big"
)

// powerBits is the precision power calculates in.
const powerBits = 160

// power is x to the power of y, correctly rounded, as the C library's pow(3)
// is all but always; math.Pow may be off by one in the last place.
func power(x, y float64) float64 {
	f := math.Pow(x, y)
	switch {
	case f == 0 || f == 1 || math.IsInf(f, 0) || math.IsNaN(f) || math.IsInf(x, 0) || math.IsInf(y, 0):
		return f
	case math.Abs(f) < 0x1p-1000: // near the subnormals
		return f
	}
	product := new(big.Float).Mul(logarithm(math.Abs(x)), exact(y))
	g, _ := exponential(product).Float64()
	return math.Copysign(g, f)
}

func exact(f float64) *big.Float { return new(big.Float).SetPrec(powerBits).SetFloat64(f) }

func quotient(x, y *big.Float) *big.Float { return new(big.Float).Quo(x, y) }

// logarithm is the natural one of x > 0: that of the fraction by the series of
// artanh, and the exponent times log 2.
func logarithm(x float64) *big.Float {
	fraction, e := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction, e = 2*fraction, e-1
	}
	sum := artanh(quotient(new(big.Float).Sub(exact(fraction), exact(1)), new(big.Float).Add(exact(fraction), exact(1))))
	sum.Mul(sum, exact(2))
	return sum.Add(sum, new(big.Float).Mul(log2(), exact(float64(e))))
}

// log2 is the natural logarithm of 2, 2 artanh(1/3).
func log2() *big.Float {
	l := artanh(quotient(exact(1), exact(3)))
	return l.Mul(l, exact(2))
}

// artanh sums z + z³/3 + z⁵/5 + ... for |z| up to 1/3.
func artanh(z *big.Float) *big.Float {
	sum, term, square := exact(0), exact(0).Set(z), new(big.Float).Mul(z, z)
	for n := 1.0; term.Sign() != 0 && n < 2*powerBits; n += 2 {
		sum.Add(sum, quotient(term, exact(n)))
		term.Mul(term, square)
	}
	return sum
}

// exponential takes off a multiple of log 2, halves what is left eight times,
// sums the series and squares eight times.
func exponential(t *big.Float) *big.Float {
	approx, _ := t.Float64()
	k := math.RoundToEven(approx / math.Ln2)
	rest := new(big.Float).Sub(t, new(big.Float).Mul(log2(), exact(k)))
	rest.SetMantExp(rest, -8)
	sum, term := exact(1), exact(1)
	for n := 1.0; n < 40; n++ {
		term = quotient(term.Mul(term, rest), exact(n))
		sum.Add(sum, term)
	}
	for range 8 {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(k))
}
