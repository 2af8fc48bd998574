package e2e

import (
	"fmt"
	"io"
	"time"
)

// exchangesWithin is for all exchanges of a transfer, also where some are lost.
const exchangesWithin = 20 * time.Second

// exchange asks as often with an octet, and waits for each answer: so both ends have samples of the round trip on a wire that
// has nothing else to carry, which a transfer never lets them have. It returns how long all but the first took, which
// waits for the host to be connected as well.
func exchange(c io.ReadWriter, times int) (took time.Duration, err error) {
	var answered time.Time
	for i := range times {
		octet := []byte{byte(i)}
		if _, err := c.Write(octet); err != nil {
			return 0, fmt.Errorf("exchange %d: %w", i, err)
		}
		if _, err := io.ReadFull(c, octet); err != nil {
			return 0, fmt.Errorf("exchange %d: %w", i, err)
		}
		if octet[0] != byte(i) {
			return 0, fmt.Errorf("exchange %d: the answer is of %d", i, octet[0])
		}
		if i == 0 {
			answered = time.Now()
		}
	}
	if times == 0 {
		return 0, nil
	}
	return time.Since(answered), nil
}

// answerExchanges is the other end of exchange.
func answerExchanges(from io.Reader, to io.Writer, times int) error {
	octet := make([]byte, 1)
	for range times {
		if _, err := io.ReadFull(from, octet); err != nil {
			return err
		}
		if _, err := to.Write(octet); err != nil {
			return err
		}
	}
	return nil
}
