"""Statistical inference for unpenalised linear models: what `model.inference(X, y)` returns, and what it rests on."""
