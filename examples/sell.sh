#!/bin/sh
# Sell something at a counter: ask for the amount and the number, show the code, wait for the money.
#
#     ./sell.sh 12.50 0244124567
#     ./sell.sh 12.50 0244124567 --sandbox    no real money; pay it with `momo simulate payment`
#
# Ends with 0 when it is paid, with momo's own exit code else (`momo help exit-codes`).
set -eu

amount=$1
phone=$2
shift 2

# --quiet and -o id print the reference alone, for the script; the code is for the customer.
reference=$(momo init "$amount" --phone "$phone" --for "sale at the counter" -o id "$@")
code=$(momo tx show "$reference" --get data.svc_code)
echo "Type this code as the reference: $code"

# Waits as long as it takes, at most ten minutes, and says how it ended by its exit code.
momo tx wait "$reference" --timeout 10m --quiet > /dev/null
echo "Paid: $(momo tx show "$reference" --get data.actual_amount) for $reference"
