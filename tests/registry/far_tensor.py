"""A tensor on a GPU as far as NumPy can see, for machines without one."""

import torch


class FarTensor(torch.Tensor):
    """A tensor that NumPy cannot read where it is."""

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")

    def numpy(self, *args, **kwargs):
        return self.__array__()

    def cpu(self, *args, **kwargs):
        return self.as_subclass(torch.Tensor)
