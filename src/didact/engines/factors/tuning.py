"""Sizes of the room `factors`, each with what was measured."""

PIECE_STEPS = 1 << 19  # multiply-adds that are worth a piece: some 0.1 ms
MOST_FACTOR_PIECES = 64
ROWS_EACH, COLUMNS_EACH = 64, 64  # least rows, or columns, of a piece
RESIDUAL_COLUMNS, RESIDUAL_NUMBERS = 512, 1 << 16  # most columns and residuals of a piece: near the processor
ENTRIES = 1 << 18  # numbers of a product W H that are held at once
START_SAMPLE = 1 << 14  # rows that lend a start where not all are in memory
SMALL_SIDE = 1500  # rows or columns up to which singular vectors come from the products of the shorter side
